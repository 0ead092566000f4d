"""Packs the library that Cargo has built, and the package around it, as a wheel for this machine.

    python tests/wheel.py target/debug FOLDER

It prints the wheel's path. The release's wheels are maturin's.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

built, folder = map(pathlib.Path, sys.argv[1:])
manifest = pathlib.Path("Cargo.toml").read_text()
version = re.search(r'^version = "(.*)"', manifest, re.M).group(1)
system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
tag = f"cp310-abi3-{system}"
names = ("lib_hushtable.so", "lib_hushtable.dylib", "_hushtable.dll")
library = next(built / name for name in names if (built / name).exists())
suffix = ".pyd" if library.suffix == ".dll" else ".abi3.so"
module = folder / f"_hushtable{suffix}"
shutil.copy(library, module)
if shutil.which("strip"):
    # Without what only a debugger reads: most of its bytes.
    subprocess.run(["strip", "-S", module], check=True)
wheel = folder / f"hushtable-{version}-{tag}.whl"
about = f"hushtable-{version}.dist-info"
with zipfile.ZipFile(wheel, "w") as packed:
    for file in sorted(pathlib.Path("python/hushtable").iterdir()):
        if file.suffix in (".py", ".pyi", ".typed"):
            packed.write(file, f"hushtable/{file.name}")
    packed.write(module, f"hushtable/{module.name}")
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: hushtable\nVersion: {version}\n",
        "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nhushtable = hushtable.__main__:main\n",
        "RECORD": "",
    }
    for name, text in texts.items():
        packed.writestr(f"{about}/{name}", text)
module.unlink()
print(wheel)
