#!/usr/bin/env python3
"""A local HTTP server that fails on purpose, for tests of downloads.

    python3 http_server.py FOLDER PORT_FILE LOG_FILE

Serves FOLDER with ranges on 127.0.0.1; writes its port to PORT_FILE and a line for every request to LOG_FILE. The first
part of the path says how a file is served: /plain/…; /cut/… the connection ends in the middle while the request has no
range; /busy/… 503 to the first request of a file; /norange/… ranges are ignored, the first request is cut;
/wrong/… other bytes of the same length; /endless/… the file, then more without an end; /gone/… 404. Ends when its
stdin is closed.
"""
import http.server
import os
import pathlib
import sys
import threading
import urllib.parse

folder, port_file, log_file = map(pathlib.Path, sys.argv[1:4])
seen = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, mode, path = urllib.parse.unquote(self.path).split("/", 2)
        range_ = self.headers.get("Range", "")
        with open(log_file, "a") as log:
            log.write(f"{mode} {path} {range_}\n")
        count = seen[self.path] = seen.get(self.path, 0) + 1
        file = folder / path
        if mode == "gone" or not file.is_file():
            return self.send_error(404)
        if mode == "busy" and count == 1:
            return self.send_error(503)
        data = file.read_bytes()
        if mode == "wrong":
            data = bytes(b ^ 1 for b in data)
        start = 0
        if range_ and mode != "norange":
            start = int(range_.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        body = data[start:]
        if mode != "endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if (mode == "cut" and not start) or (mode == "norange" and count == 1):
            body = body[:len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)
        while mode == "endless":
            try:
                self.wfile.write(bytes(1 << 16))
            except OSError:  # who asked has enough
                return

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port_file.with_suffix(".new").write_text(str(server.server_port))
os.rename(port_file.with_suffix(".new"), port_file)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
