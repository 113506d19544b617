// A program that computes in a known function, called by new functions that are compiled while the program runs. A new
// function runs for 100 ms, so that its compilation is a small share of the CPU time.
function computePlantedSum(steps) {
  let sum = 1;
  for (let i = 0; i < steps; i++) sum = (sum * 31 + i) % 1000003;
  return sum;
}
let result = 0;
let turns = 0;
function newTurn() {
  const code = `return function turn(end) { while (Date.now() < end) add(compute(20000)); return ${turns++}; }`;
  return new Function("add", "compute", code)((sum) => (result += sum), computePlantedSum);
}
function serve() {
  newTurn()(Date.now() + 100);
  setImmediate(serve);
}
for (let i = 0; i < 200; i++) result += computePlantedSum(20000);
process.stdin.on("data", () => process.exit(0));
process.stdin.on("end", () => process.exit(0));
setImmediate(serve);
console.log("ready");
