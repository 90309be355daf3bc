"""Checking and mending: the doctor, the proof of recall, the vectors."""

from memory_mcp.maintenance.doctor import doctor
from memory_mcp.maintenance.encode import encode_all, keep_encoded, unencoded
from memory_mcp.maintenance.probe import Probe, probe

__all__ = ["Probe", "doctor", "encode_all", "keep_encoded", "probe", "unencoded"]
