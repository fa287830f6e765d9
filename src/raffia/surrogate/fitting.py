"""From data to a surrogate: features chosen, trained, and judged on pairs held out. What `raffia fit` does, as a function."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor

from raffia.data import Dataset, Part, Source, elements_of, open_source, schema_for
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.metrics import Sizes
from raffia.model import RandomFeatureModel
from raffia.model.file import CLASSES
from raffia.model.settings import check_numbers
from raffia.model.splitting import groups_of
from raffia.model.trained import WorkPlan
from raffia.regression import available_memory
from raffia.storage import archive
from raffia.surrogate.budget import Clock, ended_by_ctrl_c, planned, seconds_for, workers_for
from raffia.surrogate.candidates import Candidate, named
from raffia.surrogate.cross_validation import Fold, calibrate, cross_validated, left_in_turn, left_out_count
from raffia.surrogate.entries import Contest
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.holding import Groups, check_test, count_of, groups_for, hold, known, labels_for, spread
from raffia.surrogate.judgement import Judgement
from raffia.surrogate.options import ModelOptions
from raffia.surrogate.outliers import Outliers, find_outliers
from raffia.surrogate.plan import FEW, Choice, Request
from raffia.surrogate.result import Surrogate
from raffia.surrogate.rollouts import Paths, grows_anew, paths_of, rolled_out
from raffia.surrogate.stability import conserving, stabilise
from raffia.surrogate.windows import incomplete
from raffia.tuning import GradientSearch
from raffia.tuning.workers import side_by_side, working

SEARCHED, MOST_HELD = 512, 256  # pairs to choose features on, and to hold out, where memory cannot hold all of them
MOST_LINEAR = 1024  # pairs of which a linear map is found beside features that were named
LARGEST = 1e152  # size of values, and one over the smallest: sums of squares stay within float64


def fit(
    data: Dataset | Source | str | os.PathLike[str],
    features: FeatureMap | str = "auto",
    n_features: int = 1024,
    ridge: float | Literal["auto"] = "auto",
    held_out: float | int | None = None,
    test: Dataset | None = None,
    refit: bool = True,
    seed: int = 0,
    tune: GradientSearch | None = None,
    normalize: bool | Literal["function"] | None = None,
    verbose: bool = False,
    on_message: Callable[[str], None] | None = None,
    *,
    budget: float | int | None = None,
    effort: str | None = None,
    plan: WorkPlan | None = None,
    start: RandomFeatureModel | None = None,
    band: float | None = None,
    drop: Sequence[int] = (),
    groups: Any = None,
    blocks: bool = False,
    one_step: bool = False,
    stream: bool | None = None,
    batches: Mapping[str, Any] | None = None,
    scheduler: str | None = None,
    **settings: Any,
) -> Surrogate:
    """Train a surrogate on a dataset, or on a file that `raffia.read` understands.

    Families of features are compared, the best one is trained, and its errors are estimated on pairs that it was not trained
    on.

    Parameters
    ----------
    data
        A `Dataset`, or a file.
    features, n_features, ridge
        A feature map, the name of a family, or "auto"; the number of features m; and λ, or "auto" for the smallest
        leave-one-out error.
    held_out, test, refit
        The pairs kept for the errors, a share or a count; or a dataset instead; and whether to train on all pairs in the end.
        By default a fifth is held out, and fewer than 200 pairs (1,000 of vectors) are
        cross-validated.
    seed, tune, normalize
        The seed; a search for the hyperparameters of features that were named; and whether to normalise, None leaves it to
        the features.
    verbose, on_message
        Whether to show progress, and a function that is called with each message.
    budget, effort, plan, start
        Seconds for everything, or their name: "quick" (10), "normal" (60), "long" (600); or the plan of an earlier fit, for
        the same model again. `start` is a model from whose hyperparameters searches begin.
    band, drop, groups, blocks
        A level for which `model.band` must be possible; indices of pairs to leave out; labels of groups, or the name of an
        array of them, which are held out together; and whether to hold out blocks of consecutive rows.
    one_step, stream, batches, scheduler, **settings
        Whether to judge models of trajectories by one step; whether to read a file in batches, and options of
        `raffia.model.batches.fit_batches`; the address of a Dask scheduler; and further parameters of `RandomFeatureModel`.

    Returns
    -------
    Surrogate
        The model, its errors and warnings. For an example see `examples/plot_01_first_surrogate.py` in the gallery.
    """
    begun = time.perf_counter()
    check_numbers(n_features, ridge)
    seconds = seconds_for(budget, effort)
    pairs = data if isinstance(data, (Dataset, Source)) else open_source(data)
    source = pairs if isinstance(pairs, Source) else None
    if source is not None:
        values = elements_of(source)
    else:
        in_memory = pairs.dataset()
        values = in_memory.a[0].numel() + in_memory.y[0].numel()
    clock = Clock(plan or planned(seconds, values), begun, given=plan is not None)
    options = ModelOptions(n_features=n_features, ridge=ridge, random_state=seed, normalize=normalize, settings=settings)
    request = Request(
        features=features, options=options, clock=clock, held_out=held_out, tune=tune, start=start, verbose=verbose,
        on_message=on_message, band=band, groups=labels_for(groups, source), blocks=blocks, one_step=one_step,
    )  # fmt: skip
    streams = source is not None and bool(scheduler or (too_large(source) if stream is None else stream))
    with (
        ended_by_ctrl_c() if features == "auto" and not streams else nullcontext(),
        working(workers_for(settings.get("device"))),
    ):
        if source is not None and streams:
            for name, given in (("test=… (--test)", test), ("drop=… (--drop)", drop or None), ("groups=… (--groups)", groups)):
                if given is not None:
                    raise RaffiaError(f"{name} is for data that are read as a whole: pass stream=False (--whole).")
            surrogate = _streamed(request, source, batches or {}, scheduler)
            surrogate.model.adopt(replace(surrogate.model.trained_, schema=source.schema))
        else:
            whole = pairs.dataset()
            kept = _kept(len(whole), drop)
            data_kept = whole.part(kept) if drop else whole
            surrogate = _whole(request, data_kept, kept, source, test, refit, told=pairs is data is source)
    surrogate.model.adopt(replace(surrogate.model.trained_, plan=clock.plan))
    return replace(surrogate, seconds=time.perf_counter() - begun, plan=clock.plan)


def _kept(n: int, drop: Sequence[int]) -> list[int]:
    """The indices of n pairs that are not dropped."""
    wrong = [row for row in drop if not 0 <= row < n]
    if wrong:
        raise RaffiaError(f"drop=… (--drop) must name pairs by their indices, 0 to {n - 1}; got {wrong[0]}.")
    return [row for row in range(n) if row not in set(drop)]


def too_large(source: Source) -> bool:
    """Whether the pairs would take more than a quarter of the memory that is free."""
    return 8 * elements_of(source) * len(source) > available_memory(torch.device("cpu")) // 4


def _whole(
    request: Request, data: Dataset, index: list[int], source: Source | None, test: Dataset | None, refit: bool, told: bool
) -> Surrogate:
    """Fit pairs that are in memory: choose on some of them, measure errors on others, train on all.

    `index` has the places of the pairs in the file; notes on steps were `told` already, or not.
    """
    clock = request.clock
    if test is not None:
        check_test(test, data)
    count = 0 if test is not None else count_of(request.share_of(len(data)), len(data))
    _check_several(request, data, len(data))
    groups = groups_for(spread(request.groups, data.along), request.blocks, len(data), count) or Groups.by_trajectories(
        data.along, len(data), count
    )
    holding = hold(data, count, request.seed, groups)
    chosen = [] if data.along is None or told else list(data.along.notes)
    wide = test is None or (test.along is not None and test.along.preceded()[0])
    if data.along is not None and wide and (why := incomplete(data, holding.train)):
        kept = data.along.preceded()[0]
        data, test, groups = data.widened(), test and test.widened(), groups and groups.part(kept)
        holding, chosen = holding.part(kept), [*chosen, why]
    n, in_turn = len(data), request.held_out is None and refit and count > 0 and left_in_turn(data) and data.along is None
    in_turn = in_turn and len(groups_of(data.a).unique()) >= FEW
    request.check_band(len(holding.held) if test is None and not in_turn else left_out_count(data))
    holding = replace(holding, notes=[*holding.notes, *chosen])
    request.report(holding.notes)
    train = data.part(holding.train) if count else data
    paths, each = paths_of(data, holding.train), 0 if data.along is None else data.along.each
    choice = request.chosen(ExamplePairs.of(train), groups=holding.labels, paths=paths)
    fitted = data if in_turn else request.affordable(choice, train)  # few pairs are all trained on, as in each fold
    reduced = len(fitted) < len(data if in_turn else train)
    begun = time.perf_counter()
    choice, noted = _trained(request, choice, fitted, paths, each)
    seconds = time.perf_counter() - begun
    if test is not None:
        folds = [Fold(choice.joined(), fitted, test, list(range(len(test))))]
    elif in_turn:
        folds = cross_validated(choice, data, None if groups is None else groups.linked(data), request.seed)
    else:
        folds = [Fold(choice.joined(), fitted, data.part(holding.held), holding.held)] if count else []
    judged = Judgement(Sizes.of(train.y, data.output_space.grid_of(train.y)), notes=holding.notes)
    tested = test or (data.part(sorted(row for fold in folds for row in fold.rows)) if folds else None)
    paths = paths_of(data, holding.held) if count else None if test is None else paths_of(test, range(len(test)))
    own = folds
    if test is not None:
        several = len(groups_of(data.a).unique()) >= FEW and clock.affords(5 * seconds)
        own = cross_validated(choice, data, holding.labels, request.seed) if several else []

    def errors() -> Judgement:
        """The errors of the model beside those of simple predictions."""
        measured = judged
        if folds:
            repeated = "" if test is None else known(train, test)
            notes = [*holding.notes, *([repeated] if repeated else [])]
            measured = judged.on(folds, partial(_linear, request, choice.contest), notes)
        return (
            measured.beside_blocks(choice.refitted, data, holding, request.seed)
            if count and clock.affords(seconds)
            else measured
        )

    def outliers() -> Outliers | None:
        """Samples that may be wrong, and what is gained without them."""
        if data.along is not None or reduced or not clock.affords(2 * seconds):
            return None
        pairs = range(len(data)) if in_turn else holding.train
        return find_outliers(choice, data, pairs, own, judged.sizes, request.seed)

    def final() -> RandomFeatureModel:
        """The model, trained on the test pairs too where they are a part of the data."""
        whole = refit and count and not in_turn and not reduced
        return choice.extended(data, holding.held) if whole else choice.joined()

    results = side_by_side(lambda task: task(), [errors, outliers, final])
    judged, unusual, model = cast(tuple[Judgement, Outliers | None, RandomFeatureModel], tuple(results))
    if unusual is not None:
        unusual = replace(unusual, rows=[index[row] for row in unusual.rows])
        noted = [*noted, unusual.words]
    rollout = None if paths is None else rolled_out(choice.joined(), paths, each, train.y)
    judged = replace(judged, notes=[*judged.notes, *(rollout.warnings if rollout else []), *noted])
    request.report(judged.notes[len(holding.notes) :])
    words = holding.words + ("" if test is None else "; the errors are of other data")
    if in_turn:
        words = f"each of {n} pairs was left out once, in {len(folds)} folds; features were chosen on {len(train)} of them"
    elif reduced:
        words += f"; the model is trained on {len(fitted)} of the other {len(train)} pairs"
    elif grows_anew(model, paths, rollout):
        model = choice.joined()
        words += "; the model is the one trained on the others, because values grew without bounds after training on all"
    elif count and refit:
        fitted = data
        words += (
            f"; the errors are of the model trained on the other {len(train)}, the model itself was then trained on all {n}"
        )
    judged.attach_to(model, own)
    calibrate(model, fitted, own)
    outside = "" if test is None else model.novelty_warning(test.a)
    if outside:
        judged = replace(judged, notes=[*judged.notes, f"of the test, {outside}"])
        request.report(judged.notes[-1:])
    if (schema := schema_for(data, source)) is not None:
        model.adopt(replace(model.trained_, schema=schema))
    rows = None if test is not None or not folds else sorted(row for fold in folds for row in fold.rows)
    labels = groups.of(rows) if groups is not None and rows else None
    rows = None if rows is None else [index[row] for row in rows]
    return Surrogate(
        model=model,
        n_train=len(fitted) if in_turn or reduced else len(train),
        test=tested,
        rows=rows,
        predicted=judged.predicted,
        measured=judged.measured,
        simpler=judged.simpler,
        split=words,
        contest=choice.contest,
        history=choice.history,
        by_blocks=judged.by_blocks,
        in_order=(groups is not None and groups.names is None) or judged.by_blocks is not None,
        groups=labels,
        notes=judged.notes,
        rollout=rollout,
        in_turn=in_turn,
        outliers=unusual,
    )


def _trained(request: Request, choice: Choice, train: Dataset, paths: Paths | None, each: int) -> tuple[Choice, list[str]]:
    """The choice, trained; models of time steps conserve what the data do, and stay bounded where that can be had; and what was done."""
    data, kept = ExamplePairs.of(train), conserving(choice, train)
    choice = request.trained(choice, data)
    if paths is None or request.one_step:
        return choice, [kept] if kept else []
    choice, steady = stabilise(choice, request.others(choice, data), paths, each)
    return choice, [note for note in (kept, steady) if note]


def _streamed(request: Request, source: Source, batches: Mapping[str, Any], scheduler: str | None) -> Surrogate:
    """Pairs that memory cannot hold: one pass over the file, or on a cluster, with a checkpoint to go on from."""
    n = len(source)
    count = min(count_of(request.share_of(n), n), MOST_HELD)
    if count and 0 < source.each <= MOST_HELD and n > source.each:  # whole trajectories
        count = source.each * max(1, count // source.each)
    request.check_band(count)
    part = Part(source, range(n - count))
    checkpoint = batches.get("checkpoint")
    kept = None if checkpoint is None else Path(f"{checkpoint}.features")
    some = Dataset(*_spread(source, part.rows, SEARCHED), source.domain, source.settings, source.output)
    _check_several(request, some, len(part))
    options = request.options
    asked = repr((request.features, request.tune, options.n_features, options.random_state, options.normalize, n, source.stamp))
    if kept is not None and kept.is_file() and (content := archive.read(kept, CLASSES)).get("asked") == asked:
        choice = Choice(request.model(Candidate("kept", content["features"], **content["settings"]), source.output_space))
    else:
        choice = request.chosen(replace(ExamplePairs.of(some), streamed=True))
        if kept is not None:  # for the same command after a kill: searches on other numbers of threads end in other digits
            told = {"normalize": choice.model.normalize}
            archive.write(kept, {"asked": asked, "features": choice.model.feature_map, "settings": told})
    model = choice.model.set_params(ridge=options.ridge)
    if scheduler is None:
        model.fit(part, **{"verbose": request.verbose, **batches})
    else:
        model.fit(source.opened, scheduler=scheduler, stop=len(part))
    if kept is not None:
        kept.unlink(missing_ok=True)
    test = rows = None
    folds: list[Fold] = []
    judged = Judgement(Sizes.of(some.y, source.output_space.grid_of(some.y)))
    if count:
        rows = list(range(len(part), n))
        test = source.part(range(len(part), n))
        folds = [Fold(model, some, test, rows)]
        judged = judged.on(folds, partial(_linear, request, choice.contest))
        request.report(judged.notes)
    paths = paths_of(test, range(count)) if test is not None and n > source.each else None
    rollout = None if paths is None else rolled_out(model, paths, source.each, some.y)
    judged.attach_to(model, folds)
    calibrate(model, some, folds)
    return Surrogate(
        model=model,
        n_train=len(part),
        test=test,
        rows=rows,
        predicted=judged.predicted,
        measured=judged.measured,
        simpler=judged.simpler,
        split=f"the last {count} of {n} pairs; the model was trained on the others",
        contest=choice.contest,
        history=choice.history,
        notes=judged.notes,
        rollout=rollout,
    )


def _linear(request: Request, held: Contest | None, train: Dataset) -> RandomFeatureModel | None:
    """The linear map of the training pairs: the entry of the contest, or where none was held, one that takes seconds at most."""
    entries = [] if held is None else [entry.candidate for entry in held.entries]
    linear = next((one for one in entries if one.name in ("linear", "affine")), None)
    if linear is None:
        if len(train) > MOST_LINEAR or train.domain.ndim == 0 or len(groups_of(train.a).unique()) < 2:
            return None
        linear = named("linear", train.a, train.y, train.domain, train.output_space)
    if linear.kernel and len(train) > MOST_LINEAR:
        train = train.part(torch.linspace(0, len(train) - 1, MOST_LINEAR).round().long().tolist())
    return request.model(linear, train.output_space).set_params(ridge="auto").fit(train.a, train.y)


def _check_several(request: Request, data: Dataset, n: int) -> None:
    """Refuse inputs that are all equal, outputs that are all zero, and values whose squares are no numbers of float64."""
    for name, f in (("inputs", data.a), ("outputs", data.y)):
        size = float(f.abs().max())
        if size > LARGEST or 0 < size < 1 / LARGEST:
            raise RaffiaError(
                f"{name} have values up to {size:.1g}, whose squares float64 does not hold: pass them in other units, over {size:.0g}."
            )
    same, still = (bool((f[1:] == f[:1]).all()) for f in (data.a, data.y))
    if same and (still or "auto" in (request.features, request.options.ridge)):
        which = f"all {n}" if len(data) == n else f"the {len(data)} of {n} that were looked at"
        raise RaffiaError(
            f"inputs are equal, value for value, {which}: there is nothing to learn from them. Check the data: whether this is the array "
            "that is meant, and was filled."
        )
    if not data.y.any():
        raise RaffiaError(
            "outputs are all zero: there is nothing to learn. Check whether this is the array that is meant, and was filled."
        )


def _spread(source: Source, rows: range, count: int) -> tuple[Tensor, Tensor]:
    """About `count` pairs in up to 16 runs, evenly spread: few places to read, and not all from the beginning."""
    runs = min(16, max(1, len(rows) // count))
    each = min(count, len(rows)) // runs
    starts = [rows[0] + i * (len(rows) - each) // max(1, runs - 1) for i in range(runs)]
    parts = [source.read(range(start, start + each)) for start in starts]
    return torch.cat([a for a, _ in parts]), torch.cat([y for _, y in parts])
