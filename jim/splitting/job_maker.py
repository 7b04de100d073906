"""Makes jobs for every splitter: counts them, groups them by location, and finds their sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.splitting.errors import JobLimitExceeded
from jim.splitting.files_and_jobs import NO_ESTIMATES, NO_MASK, NOTHING, Estimates, Failure, File, Mask, SplitJob
from jim.splitting.parameters import Common
from jim.splitting.subscription import Subscription

new = tuple.__new__
NO_SITE = Failure("no allowed site is known to hold the input", 71101)


def by_location(files: Iterable[File]) -> list[tuple[frozenset[str], list[File]]]:
    """Group files by their exact set of locations, ordered by the names of the storages."""
    found: dict[frozenset[str], list[File]] = {}
    for each in files:
        found.setdefault(each.locations, []).append(each)
    return sorted(found.items(), key=lambda group: sorted(group[0]))


Maker = Callable[..., SplitJob]  # takes mask, estimates, baggage, and the failure of a job that failed already


def _of_production(mask: Mask) -> Mask:
    return Mask(*mask[:4], 1, 1, mask.run_lumis)


class JobMaker:
    """Makes the jobs of one split, one after another."""

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
        """Return the number of jobs of the workflow so far."""
        return self._work.jobs_before + self._made

    def groups(
        self, files: Iterable[File] | None = None, enough: Callable[[Sequence[File]], bool] | None = None
    ) -> Iterator[list[File]]:
        """Open a job group for each set of locations, or a single one if the site lists are trusted.

        While more files may come, a group is left out unless `enough` accepts it.
        """
        files = self._work.files if files is None else files
        for locations, those in [(None, list(files))] if self._p.trust_site_lists else by_location(files):
            if those and not (self._work.waits and enough and not enough(those)):
                self.open_group(locations)
                yield those

    def open_group(self, locations: frozenset[str] | None) -> None:
        """Put the next jobs into a new group; the group gets its number with its first job."""
        self._opens = True
        self._locations = locations

    def another_group(self) -> None:
        """Put the next jobs into a new group at the same locations."""
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
        """Make the next job. `at` names the storage that it reads, if not any storage of its first file will do."""
        return self.maker(files, at)(mask, estimates, baggage, failure)

    def maker(self, files: Iterable[File], at: str | None = None) -> Maker:
        """Return a function that makes job after job of the same files; there may be a million of them."""
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
            # This takes half the time of the constructor.
            return new(
                SplitJob, (self._group, self._locations, alike, mask, estimates, sites, failure, baggage, parents)
            )

        return make

    def row(
        self, files: Iterable[File], masks: Iterator[Mask], count: int, estimates: Estimates, failure: Failure | None
    ) -> Iterator[SplitJob]:
        """Make `count` jobs that differ only in their masks, fast enough for millions."""
        first = self.maker(files)(next(masks), estimates, NOTHING, failure)
        yield first
        self._made += count - 1
        if self._made > self._limit > 0:
            raise self._too_many()
        group, locations, alike, _, estimates, sites, failure, baggage, parents = first
        for mask in map(_of_production, masks) if self._production else masks:
            yield new(SplitJob, (group, locations, alike, mask, estimates, sites, failure, baggage, parents))

    def _too_many(self) -> JobLimitExceeded:
        return JobLimitExceeded("job_limit", self._limit, f"this work makes more than {self._limit:,} jobs")

    def _sites_of(self, locations: frozenset[str]) -> tuple[str, ...]:
        """Return the sites where a job may run: those that hold its input and that the site lists allow."""
        sites = self._sites.get(locations)
        if sites is None:
            allowed = set(self._p.site_whitelist)
            if not self._p.trust_site_lists:
                near = {site for each in locations for site in self._work.storage_to_sites.get(each, ())}
                allowed = near & allowed if allowed else near
            sites = self._sites[locations] = tuple(sorted(allowed - set(self._p.site_blacklist)))
        return sites
