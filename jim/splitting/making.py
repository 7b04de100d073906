"""Making jobs: by groups of location, with their sites, and whatever else is alike for every splitter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.splitting.errors import JobLimitExceeded
from jim.splitting.parameters import Common
from jim.splitting.subscription import Subscription
from jim.splitting.units import NO_ESTIMATES, NO_MASK, NOTHING, Estimates, Failure, File, Mask, SplitJob

new = tuple.__new__
NO_SITE = Failure("no site that the site lists allow is known to hold the input", 71101)


def by_location(files: Iterable[File]) -> list[tuple[frozenset[str], list[File]]]:
    """Group files by their exact set of locations, in the order of the storages' names."""
    found: dict[frozenset[str], list[File]] = {}
    for each in files:
        found.setdefault(each.locations, []).append(each)
    return sorted(found.items(), key=lambda group: sorted(group[0]))


Maker = Callable[..., SplitJob]  # of a mask, estimates, baggage, and the failure of a job that has failed already


def _of_production(mask: Mask) -> Mask:
    return Mask(*mask[:4], 1, 1, mask.run_lumis)


class Jobs:
    """Makes the jobs of one splitting, one after another."""

    def __init__(self, work: Subscription, p: Common, *, limit: int = 0) -> None:
        self._work = work
        self._production = work.production
        self._p = p
        self._limit = limit
        self._made = 0
        self._group = -1
        self._opens = True
        self._locations: frozenset[str] | None = None
        self._sites: dict[frozenset[str], tuple[str, ...]] = {}
        self._with_parents = getattr(p, "include_parents", False)

    @property
    def before(self) -> int:
        """Count the jobs of the workflow so far."""
        return self._work.jobs_before + self._made

    def groups(
        self, files: Iterable[File] | None = None, enough: Callable[[Sequence[File]], bool] | None = None
    ) -> Iterator[list[File]]:
        """Open a job group for each set of locations; where the site lists are trusted, one for all.

        While more may come, a group that is not `enough` to begin with is left out.
        """
        files = self._work.files if files is None else files
        for locations, those in [(None, list(files))] if self._p.trust_site_lists else by_location(files):
            if those and not (self._work.waits and enough and not enough(those)):
                self.open_group(locations)
                yield those

    def open_group(self, locations: frozenset[str] | None) -> None:
        """Make the jobs from now on in a new group; it has a number once it has a job."""
        self._opens = True
        self._locations = locations

    def another_group(self) -> None:
        """Make the jobs from now on in a new group at the same place."""
        self.open_group(self._locations)

    def make(
        self,
        files: Iterable[File],
        mask: Mask = NO_MASK,
        estimates: Estimates = NO_ESTIMATES,
        baggage: Mapping[str, Any] = NOTHING,
        failure: Failure | None = None,
        at: str | None = None,
    ) -> SplitJob:
        """Make the next job; `at` names the storage that it reads, where that is not all those of its first file."""
        return self.maker(files, at)(mask, estimates, baggage, failure)

    def maker(self, files: Iterable[File], at: str | None = None) -> Maker:
        """Give what makes job after job of the same files, as there may be a million of them."""
        alike = tuple(files)
        sites = self._sites_of(alike[0].locations if at is None else frozenset((at,)))
        parents = {each.lfn: each.parents for each in alike if each.parents} if self._with_parents else NOTHING

        def make(
            mask: Mask, estimates: Estimates, baggage: Mapping[str, Any] = NOTHING, failure: Failure | None = None
        ) -> SplitJob:
            self._made += 1
            if self._made > self._limit > 0:
                raise self._too_many()
            if self._opens:
                self._group, self._opens = self._group + 1, False
            if self._production:
                mask = _of_production(mask)
            if not sites:
                failure = NO_SITE
            # Half the time of its constructor.
            return new(
                SplitJob, (self._group, self._locations, alike, mask, estimates, sites, failure, baggage, parents)
            )

        return make

    def row(
        self, files: Iterable[File], masks: Iterator[Mask], count: int, estimates: Estimates, failure: Failure | None
    ) -> Iterator[SplitJob]:
        """Make `count` jobs that differ in nothing but their masks, at a price that is right for very many."""
        first = self.maker(files)(next(masks), estimates, NOTHING, failure)
        yield first
        self._made += count - 1
        if self._made > self._limit > 0:
            raise self._too_many()
        group, locations, alike, _, estimates, sites, failure, baggage, parents = first
        for mask in map(_of_production, masks) if self._production else masks:
            yield new(SplitJob, (group, locations, alike, mask, estimates, sites, failure, baggage, parents))

    def _too_many(self) -> JobLimitExceeded:
        return JobLimitExceeded("job_limit", self._limit, f"more than {self._limit:,} jobs would come of this work")

    def _sites_of(self, locations: frozenset[str]) -> tuple[str, ...]:
        """Say where a job may run: where its input is, within the site lists."""
        sites = self._sites.get(locations)
        if sites is None:
            allowed = set(self._p.site_whitelist)
            if not self._p.trust_site_lists:
                near = {site for each in locations for site in self._work.storage_to_sites.get(each, ())}
                allowed = near & allowed if allowed else near
            sites = self._sites[locations] = tuple(sorted(allowed - set(self._p.site_blacklist)))
        return sites
