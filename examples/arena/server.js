// HTTP server with Node.js, in one process.
const http = require("node:http");

const body = "Hello, World!\n";
const headers = { "Content-Type": "text/plain", "Content-Length": body.length };

http
  .createServer((_, response) => {
    response.writeHead(200, headers);
    response.end(body);
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
