const commonRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'] as const

/** Returns the aspect ratio; sizes close to a common ratio are rounded to it. */
export function aspectRatioOf({ width, height }: { width: number; height: number }): `${number}:${number}` {
  const isNear = (ratio: string) => {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    return Math.abs(Math.log((width / height) * (down / across))) < 0.02
  }
  const divisor = greatestCommonDivisor(width, height)
  return commonRatios.find(isNear) ?? `${width / divisor}:${height / divisor}`
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}
