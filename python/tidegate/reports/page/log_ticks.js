// Ticks of a logarithmic axis: the fewest per decade that are enough, else even steps.
const [low, high] = [cb_data.range.start, cb_data.range.end].sort((a, b) => a - b);
const ENOUGH = 4;
for (const mantissas of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const one of mantissas) {
      const tick = Number(`${one}e${power}`);
      if (tick >= low && tick <= high) found.push(tick);
    }
  }
  if (found.length >= ENOUGH) return found;
}
const rough = (high - low) / ENOUGH;
const unit = 10 ** Math.floor(Math.log10(rough));
const step = unit * ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10);
const even = [];
for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) even.push(Number(tick.toPrecision(12)));
return even;
