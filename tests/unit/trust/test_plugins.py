"""Functions of sites and job types."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest, JimError
from jim.trust.plugins import foreign, function


def test_a_function_is_found_in_the_site_s_own_directory(tmp_path):
    (tmp_path / "plugin_site").mkdir()
    (tmp_path / "plugin_site/steps.py").write_text("def tax(request):\n    return 7\n")
    assert function("step", "plugin_site.steps.tax", str(tmp_path))({}) == 7
    with pytest.raises(JimError, match=r"^cannot load step 'plugin_site.steps.toll': AttributeError"):
        function("step", "plugin_site.steps.toll", str(tmp_path))


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), AssertionError(), RecursionError()])
def test_no_exception_of_foreign_code_ends_a_keeper_and_its_line_is_named(error):
    where = rf"^the step failed: {type(error).__name__}: .* \(test_plugins.py, line \d+\)$"
    with pytest.raises(JimError, match=where), foreign("the step failed"):
        raise error


@pytest.mark.parametrize("error", [OSError("disk"), BadRequest("no", "cores"), KeyboardInterrupt()])
def test_errors_that_jim_understands_pass_unchanged(error):
    with pytest.raises(type(error)) as raised, foreign("the step failed"):
        raise error
    assert raised.value is error


def test_a_module_that_is_not_there_is_named_without_a_line_of_python_itself(tmp_path):
    with pytest.raises(JimError, match=r"ModuleNotFoundError: No module named 'plugin_missing'$"):
        function("analyser", "plugin_missing.rules", str(tmp_path))
