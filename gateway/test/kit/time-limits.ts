/**
 * After these times a test has hung. They allow for tests that share two cores. TEST_SLOWNESS multiplies them for a machine that is
 * slower, or whose host withholds its processors.
 */
const slowness = Number(process.env['TEST_SLOWNESS'] ?? 1)

export const seconds = (count: number): number => count * 1_000 * slowness
export const minutes = (count: number): number => seconds(60 * count)
