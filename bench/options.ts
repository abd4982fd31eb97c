/** The options of a benchmark. `BENCH_SHORT` shows only that it works; `BENCH_OPTIONS` changes single ones, as JSON. */
export const options = <Options extends Record<string, unknown>>(long: Options, short: Options): Options => ({
  ...(process.env['BENCH_SHORT'] === undefined ? long : short),
  ...(JSON.parse(process.env['BENCH_OPTIONS'] ?? '{}') as Partial<Options>),
})
