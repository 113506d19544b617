"""FastAPI whose handler blocks the event loop. Argument: the port."""
import sys
import time

import uvicorn
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
async def index():
    time.sleep(0.005)
    return "done"


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
