/** `0:03.4`, and `1:02:03` above an hour. */
export const formatPosition = (seconds: number, hasTenths = true): string => {
  const tenths = Math.max(0, Math.round(seconds * 10))
  const whole = Math.floor(tenths / 10)
  const pad = (value: number) => String(value).padStart(2, '0')
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60]
  if (hours > 0) return `${hours}:${pad(minutes)}:${pad(rest)}`
  return `${minutes}:${pad(rest)}${hasTenths ? `.${tenths % 10}` : ''}`
}
