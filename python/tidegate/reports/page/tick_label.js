// The number at a tick, with as many digits as it has, up to four.
const size = Math.abs(tick);
if (size !== 0 && (size < 1e-4 || size >= 1e9)) return tick.toExponential().replace("e+", "e");
return Number(tick.toPrecision(4)).toLocaleString("en", {maximumSignificantDigits: 4});
