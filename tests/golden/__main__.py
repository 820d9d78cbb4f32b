"""Write the golden model files again; say in the commit why old files may no longer be read."""

from __future__ import annotations

import json

from tests.golden.test_golden import FOLDER, outputs_of
from tests.test_estimator_contract import FOLDERS, case_of

for folder, kind in FOLDERS.items():
    case = case_of(folder)
    model = case.fit(case.make())
    model.save(FOLDER / f"{kind.name}.sgm")
    (FOLDER / f"{kind.name}.json").write_text(json.dumps(outputs_of(case, model)) + "\n")
    print(kind.name)
