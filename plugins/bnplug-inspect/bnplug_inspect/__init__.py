"""Data checks before training, and drift reports and prior adjustment afterwards."""

from bnplug_inspect.checking import check as check
from bnplug_inspect.findings import KINDS as KINDS
from bnplug_inspect.findings import Finding as Finding
from bnplug_inspect.findings import Fix as Fix
from bnplug_inspect.report import CheckReport as CheckReport
