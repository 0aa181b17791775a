"""Sesslog for the session interfaces of agent SDKs, with the standard library only."""
