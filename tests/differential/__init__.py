"""Random typed scalar programs, judged by a reference evaluator that shares no code with kdsl."""
