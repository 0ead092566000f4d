"""A first private table from a frame: the contract is code, the rows are in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

import hushtable as ht

# Made-up visits of 900 customers to three towns.
visits = pl.DataFrame(
    {
        "customer_id": [n // 3 for n in range(2700)],
        "town": [["Ashford", "Harbourton", "Millbrook"][(n // 3) % 3] for n in range(2700)],
        "amount": [n % 50 for n in range(2700)],
    }
)

contract = ht.Contract(
    tables={
        "visits": ht.Table(
            privacy_unit="customer_id",
            columns={
                "customer_id": "int",
                "town": "string",
                "amount": ht.Column("int", bounds=(0, 100)),
            },
            defaults=ht.Defaults(
                epsilon=1, delta=1e-6, max_groups_contributed=1, max_rows_per_group=3
            ),
            budgets={"ana": ht.Budget(epsilon=5, delta=1e-5)},
        )
    }
)

with tempfile.TemporaryDirectory() as folder:
    # In earnest the ledger's file is kept, and backed up: it records what was spent.
    ledger = Path(folder) / "visits.ledger"
    engine = ht.Engine(contract, tables={"visits": visits}, ledger=ledger)
    ana = engine.analyst("ana")
    sql = "SELECT town, COUNT(*) AS visits, AVG(amount) AS mean FROM visits GROUP BY town"
    print(ana.explain(sql))
    release = ana.sql(sql)
    print(release)
    print(release.intervals().to_polars())
    print(ana.budget())
