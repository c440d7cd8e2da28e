"""The gate judges objects without calling anything of theirs."""

from __future__ import annotations

from types import ModuleType

from inferlane.api import hookimpl
from inferlane.plugins.gate import check_module, suggest


def module_with(**content: object) -> ModuleType:
    module = ModuleType("fake_plugin")
    vars(module).update(content)
    return module


def test_an_instance_is_refused_without_touching_its_properties() -> None:
    class Trap:
        @property
        def inferlane_engines(self) -> object:
            raise AssertionError("executed")

    assert check_module(Trap()) == (
        "its entry point names an object of type Trap; it must name a module that holds hook implementations",
    )


def test_true_is_no_api_number() -> None:
    assert check_module(module_with(PLUGIN_API=True)) == ("PLUGIN_API must be an integer, not True",)


def test_another_api_is_judged_alone_since_its_hooks_may_be_others() -> None:
    @hookimpl
    def inferlane_unknown() -> None: ...

    (fault,) = check_module(module_with(PLUGIN_API=99, inferlane_unknown=inferlane_unknown))

    assert "needs plugin API 99" in fault


def test_a_hook_under_another_function_name_is_judged_by_the_hook() -> None:
    @hookimpl(specname="inferlane_engine_layout")
    def layout(engine: object, grup: object) -> None: ...

    (fault,) = check_module(module_with(PLUGIN_API=1, layout=layout))

    assert fault.startswith("inferlane_engine_layout: unknown parameter grup; did you mean 'group'?")


def test_a_helper_with_a_name_of_its_own_is_nobodys_business() -> None:
    @hookimpl
    def inferlane_doctor() -> list[object]:
        return []

    def helper(*arguments: object, **more: object) -> None: ...

    assert check_module(module_with(PLUGIN_API=1, inferlane_doctor=inferlane_doctor, helper=helper)) == ()


def test_no_suggestion_is_made_for_a_word_that_is_far_from_all() -> None:
    assert suggest("zzz", ["alpha", "beta"]) == ""
