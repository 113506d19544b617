// Express with one known limit. The arguments are the limit, the port, and further ones for some limits. For `pool` and
// `row`, these are the URL of a database and the number of connections. For `keys`, it is the port of Redis.
const [limit, port, database, connections] = process.argv.slice(2);
const app = require("express")();
const usesPool = limit === "pool" || limit === "row";
const pool = usesPool && new (require("pg").Pool)({ connectionString: database, max: +connections });

// Each request keeps the same row locked for 3 ms.
async function lockRow() {
  const client = await pool.connect();
  for (const text of ["begin", "update counters set n = n + 1 where id = 1", "select pg_sleep(0.003)", "commit"])
    await client.query(text);
  client.release();
}

// Each request runs KEYS with a pattern that matches nothing, so Redis answers with an empty array.
const redis = limit === "keys" && require("net").connect(+database, "127.0.0.1");
const waiting = [];
if (redis) redis.on("data", (data) => data.toString().split("*0\r\n").slice(1).forEach(() => waiting.shift()()));
function keys() {
  redis.write("KEYS nosuch*\r\n");
  return new Promise((done) => waiting.push(done));
}

app.get("/", async (_, response) => {
  if (limit === "row") await lockRow();
  else if (pool) await pool.query("select pg_sleep(0.01)");
  else if (redis) await keys();
  else require("crypto").pbkdf2Sync("password", "salt", 5000, 64, "sha512");
  response.send("done\n");
});
const TABLE = "create table counters (id int primary key, n int); insert into counters values (1, 0)";
(limit === "row" ? pool.query(TABLE) : Promise.resolve()).then(() => app.listen(+port, "127.0.0.1"));
