// Web server with one known limit. Its argument names the limit. It prints its port, and serves until its input ends.
const crypto = require('crypto');
const http = require('http');
const limit = process.argv[2];
const server = http.createServer((request, response) => {
  if (limit === 'hash') {
    crypto.pbkdf2Sync('secret', 'salt', 3000, 32, 'sha256');
    response.end('done\n');
  } else if (limit === 'pool') {
    // The thread pool of libuv has four threads.
    crypto.pbkdf2('secret', 'salt', 3000, 32, 'sha256', () => response.end('done\n'));
  } else {
    setTimeout(() => response.end('done\n'), 30);
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit()).resume();
