/** Durations as a histogram: bucket `n` covers the durations half a bucket around `ratio ** n` seconds. */

export interface DurationBucket {
  bucket: number
  weight: number
}

export interface DurationHistogram {
  ratio: number
  /** In order. */
  buckets: readonly DurationBucket[]
}

const msMin = 1
const msMax = 30 * 24 * 3600 * 1000

const placeOf = (ms: number, ratio: number): number => Math.log(ms / 1000) / Math.log(ratio)

export const bucketOf = (ms: number, ratio: number): number =>
  Math.round(placeOf(Math.min(msMax, Math.max(msMin, ms)), ratio))

/** Adds up the weights of equal buckets. */
export const histogramOf = (ratio: number, given: Iterable<DurationBucket>): DurationHistogram => {
  const weights = new Map<number, number>()
  for (const { bucket, weight } of given) weights.set(bucket, (weights.get(bucket) ?? 0) + weight)
  const buckets = [...weights].map(([bucket, weight]) => ({ bucket, weight }))
  return { ratio, buckets: buckets.toSorted((one, other) => one.bucket - other.bucket) }
}

export const weightOf = ({ buckets }: DurationHistogram): number =>
  buckets.reduce((sum, { weight }) => sum + weight, 0)

/** Within a bucket, durations are distributed evenly on a logarithmic scale. */
const durationAt = ({ ratio, buckets }: DurationHistogram, weight: number): number => {
  let left = weight
  for (const { bucket, weight: own } of buckets) {
    if (left <= own) return 1000 * ratio ** (bucket - 0.5 + left / own)
    left -= own
  }
  return 1000 * ratio ** ((buckets.at(-1)?.bucket ?? 0) + 0.5)
}

export const quantileOf = (histogram: DurationHistogram, share: number): number =>
  durationAt(histogram, share * weightOf(histogram))

/** The weight of the durations up to this one. */
const weightUntil = ({ ratio, buckets }: DurationHistogram, ms: number): number => {
  const place = placeOf(Math.max(ms, Number.MIN_VALUE), ratio)
  return buckets.reduce(
    (sum, { bucket, weight }) => sum + weight * Math.min(1, Math.max(0, place - bucket + 0.5)),
    0,
  )
}

/** The quantiles of the durations that are longer than this one; undefined if almost none is. */
export const quantilesAfter = (
  histogram: DurationHistogram,
  elapsedMs: number,
): ((share: number) => number) | undefined => {
  const all = weightOf(histogram)
  const before = weightUntil(histogram, elapsedMs)
  if (all - before < 0.01 * all) return undefined
  return (share) => Math.max(elapsedMs, durationAt(histogram, before + share * (all - before)))
}
