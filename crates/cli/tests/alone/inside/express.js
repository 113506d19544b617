// Express with one known limit. Arguments: the limit, the port, and for `pool` the URL of a database and the number of
// connections.
const [limit, port, database, connections] = process.argv.slice(2);
const app = require("express")();
const pool = limit === "pool" && new (require("pg").Pool)({ connectionString: database, max: +connections });

app.get("/", async (_, response) => {
  if (pool) await pool.query("select pg_sleep(0.01)");
  else require("crypto").pbkdf2Sync("password", "salt", 5000, 64, "sha512");
  response.send("done\n");
});
app.listen(+port, "127.0.0.1");
