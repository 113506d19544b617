// A program that computes in a known function.
function computePlantedSum(steps) {
  let sum = 1;
  for (let i = 0; i < steps; i++) sum = (sum * 31 + i) % 1000003;
  return sum;
}
let result = 0;
function turn() {
  const end = Date.now() + 50;
  while (Date.now() < end) result += computePlantedSum(200000);
  setImmediate(turn);
}
for (let i = 0; i < 200; i++) result += computePlantedSum(20000);
process.stdin.on("data", () => process.exit(0));
process.stdin.on("end", () => process.exit(0));
setImmediate(turn);
console.log("ready");
