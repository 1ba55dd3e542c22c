"""An event in, a decision out: the pool, the tick, requests, readings, time, and what must always hold."""
