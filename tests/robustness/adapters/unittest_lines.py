"""Runs the tests of a folder, or those that are named, and writes each as a line of JSON into a file."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path


class Lines(unittest.TestResult):
    def _say(self, test: unittest.TestCase, problem: str | None = None, skipped: str | None = None) -> None:
        line = {"name": test.shortDescription() or test.id(), "problem": problem, "skipped": skipped}
        # Not on the standard output: what a framework prints would stand between the lines.
        with Path(written).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._say(test)

    def addError(self, test: unittest.TestCase, err: object) -> None:
        self._say(test, self._exc_info_to_string(err, test))

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self.addError(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._say(test, skipped=reason)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        if err is not None:
            self.addError(subtest, err)


written, folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
loader = unittest.TestLoader()
(loader.loadTestsFromNames(names) if names else loader.discover(folder, top_level_dir=folder)).run(Lines())
