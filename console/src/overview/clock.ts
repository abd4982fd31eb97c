import { locale } from '../i18n/language.ts'

const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** `14:05`, for axes and cells within one day. */
export const formatClock = (seconds: number): string => clock.format(new Date(seconds * 1_000))
