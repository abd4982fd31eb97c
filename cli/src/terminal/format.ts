/** Amounts, times and durations as a person reads them. */
import { styleText } from 'node:util'

export const microsPerUnit = 1_000_000

/** An amount with its currency, without zeros after the second decimal: `1.50 USD`. */
export const formatMoney = (micros: number, currency: string): string => {
  const [whole = '0', decimals = ''] = (Math.abs(micros) / microsPerUnit).toFixed(6).split('.')
  const shown = decimals.replace(/0{1,4}$/, '')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return `${micros < 0 ? '−' : ''}${grouped}.${shown} ${currency}`
}

const pad = (value: number) => String(value).padStart(2, '0')

/** A Unix time in the time zone of this machine. */
export const formatTime = (unixSeconds: number): string => {
  const date = new Date(unixSeconds * 1000)
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}`
}

/** With a tenth below ten seconds, unless the number is whole. */
export const formatSeconds = (seconds: number): string => {
  if (seconds > 0 && seconds < 9.95 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`
}

interface Range {
  min: number
  max: number
}

export const formatRange = ({ min, max }: Range, format: (value: number) => string = String): string =>
  min === max ? format(min) : `${format(min)}–${format(max)}`

export const styleOfStatus = (status: string): Parameters<typeof styleText>[0] | undefined => {
  if (status === 'completed') return 'green'
  if (status === 'failed') return 'red'
  return 'yellow'
}
