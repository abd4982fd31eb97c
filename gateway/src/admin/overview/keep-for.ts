/** How many times its age a value is still returned while a new one is read. */
const staleFactor = 4

/**
 * Keeps what was read for some time, so that a part that changes slowly is read rarely. Once it is older, it is read again
 * while the old value is returned, so that only the first caller waits. A failed read is not kept.
 */
export const keepFor = <Value>(
  ageMs: number,
  read: () => Promise<Value>,
  now: () => number = () => performance.now(),
): (() => Promise<Value>) => {
  let kept: { value: Value; atMs: number } | undefined
  let reading: Promise<Value> | undefined
  const readNow = (): Promise<Value> => {
    const atMs = now()
    reading ??= read()
      .then((value) => {
        kept = { value, atMs }
        return value
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  return async () => {
    const age = kept === undefined ? Infinity : now() - kept.atMs
    if (kept === undefined || age >= ageMs * staleFactor) return readNow()
    // If it fails, the caller who finds the value too old gets the error.
    if (age >= ageMs) readNow().catch(() => undefined)
    return kept.value
  }
}
