"""The source that is a dataset of the site's catalogue: it is open as long as the catalogue says so."""

from __future__ import annotations

from jim.errors import JimError
from jim.site.file import Site
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.sources import Found, group_of
from jim.tasks.sources.lists import item_of
from jim.work.catalogue import catalogue_at


def look(source: SourceSpec, site: Site) -> Found:
    """Ask the catalogue. A dataset that is not open has all its files."""
    if not site.site.catalogue:
        raise JimError("this site has no catalogue any more (site.catalogue)")
    dataset = catalogue_at(site.site.catalogue).dataset(source.dataset)
    found = Found(closed=not dataset.open)
    for each in dataset.files:
        item = item_of(each.to_record())
        grp = group_of(source.group, item.name)
        if grp is not None:
            found.new.append(item._replace(grp=grp))
    return found
