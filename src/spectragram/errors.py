"""What can go wrong, each with what arrived, what was expected and what to do.

Every error a user can cause is a :class:`SpectragramError`; the command line prints it as one line and exits
with status 2. Anything else that escapes is a defect of the library.
"""

from __future__ import annotations

__all__ = [
    "InputError",
    "LostShardError",
    "MissingExtraError",
    "ModelFileError",
    "NotFittedError",
    "ParameterError",
    "RankError",
    "SpectragramError",
]


class SpectragramError(Exception):
    """Base of every error that the user's input, options or environment can cause."""


class InputError(SpectragramError, ValueError):
    """Data that cannot be used: says where (file and line when known), what is wrong and how to mend it.

    >>> str(InputError("unbalanced brackets: 3 '(' but 2 ')'", path="a.mrg", line=7, remedy="close the tree"))
    "a.mrg:7: unbalanced brackets: 3 '(' but 2 ')'; close the tree"
    """

    def __init__(
        self, problem: str, *, path: object = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        self.problem = problem
        self.path = None if path is None else str(path)
        self.line = line
        self.remedy = remedy
        where = "" if self.path is None else self.path + (f":{line}" if line is not None else "") + ": "
        if self.path is None and line is not None:
            where = f"line {line}: "
        super().__init__(where + problem + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple:
        # Keyword-only arguments survive the trip back from a worker process.
        return _rebuild_input_error, (type(self), self.problem, self.path, self.line, self.remedy)


def _rebuild_input_error(
    kind: type[InputError], problem: str, path: str | None, line: int | None, remedy: str | None
) -> InputError:
    return kind(problem, path=path, line=line, remedy=remedy)


class ParameterError(InputError):
    """A parameter whose value cannot be used.

    It knows which parameter it is about, so that the command line can name its own option in the message. ``problem``
    and ``remedy`` therefore speak of what the parameter means ("fewer states"), not of its name.

    >>> str(ParameterError("n_states", 0, remedy="give a whole number of at least 1"))
    'n_states=0; give a whole number of at least 1'
    """

    def __init__(self, parameter: str, value: object, problem: str = "", *, remedy: str | None = None) -> None:
        self.parameter = parameter
        self.value = value
        self.reason = problem
        super().__init__(f"{parameter}={value!r}" + (f" {problem}" if problem else ""), remedy=remedy)

    def told_as(self, option: str) -> str:
        """The message with another name for the parameter.

        >>> ParameterError("n_states", 0, remedy="give at least 1").told_as("--states")
        '--states 0; give at least 1'
        """
        parts = f"{option} {self.value}" + (f" {self.reason}" if self.reason else "")
        return parts + (f"; {self.remedy}" if self.remedy else "")

    def __reduce__(self) -> tuple:
        return _rebuild_parameter_error, (self.parameter, self.value, self.reason, self.remedy)


def _rebuild_parameter_error(parameter: str, value: object, reason: str, remedy: str | None) -> ParameterError:
    return ParameterError(parameter, value, reason, remedy=remedy)


class ModelFileError(InputError):
    """A model file that is damaged, of another version, or not one of ours."""


class LostShardError(InputError):
    """Part of the work was lost again and again because the process or machine that did it died."""


class RankError(SpectragramError, ValueError):
    """More hidden states were asked for than the moments can support."""


class NotFittedError(SpectragramError, ValueError, AttributeError):
    """A method that needs a trained model was called before ``fit``."""


class MissingExtraError(SpectragramError, ImportError):
    """An optional dependency is not installed.

    >>> str(MissingExtraError("python-crfsuite", "peers"))
    "this needs python-crfsuite, which is not installed: pip install 'spectragram[peers]'"
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"this needs {package}, which is not installed: pip install 'spectragram[{extra}]'")

    def __reduce__(self) -> tuple:
        return type(self), (self.package, self.extra)
