"""Maintains the memory: the doctor, the proof of recall, the vectors."""

from memory_mcp.maintenance.doctor import run_doctor
from memory_mcp.maintenance.encode import count_unencoded, encode_all, keep_encoded
from memory_mcp.maintenance.probe import RecallProof, probe_recall

__all__ = [
    "RecallProof",
    "count_unencoded",
    "encode_all",
    "keep_encoded",
    "probe_recall",
    "run_doctor",
]
