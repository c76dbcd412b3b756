"""The page: what a browser shows of the decision server, and how people answer there."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["page_api", "page_routes", "page_sessions", "page_visits", "refusal_page"]
