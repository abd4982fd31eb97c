/** The status as an HTML page: no scripts, no other origins, no names of providers. */
import { createHash } from 'node:crypto'

import type { ModelKind, ServiceState, ServiceStatus } from '@kinora/contract/operations/status'

import { statusDays } from './status-store.ts'

const style = `
:root { color-scheme: light dark; --ink: #16181d; --soft: #5d6470; --paper: #f4f2ee; --card: #fff; --line: #e3dfd7;
  --good: #1f7d53; --fair: #9a6000; --bad: #b03427; --none: #cfcac0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f1efea; --soft: #a3a9b5; --paper: #121317; --card: #1a1c22; --line: #2b2e36;
    --good: #3fb37f; --fair: #e0a030; --bad: #e5675a; --none: #3a3d46 }
}
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif }
h1 { margin: 0 0 1.5rem; padding: 1rem 1.25rem; border-radius: .75rem; color: #fff; font-size: 1.25rem }
h1.operational { background: #1f7d53 } h1.degraded { background: #9a6000 } h1.down { background: #b03427 }
section { margin: 0 0 1rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--card) }
header { display: flex; justify-content: space-between; gap: 1rem }
h2 { margin: 0; font-size: 1rem }
.state { font-weight: 600 }
.state.operational { color: var(--good) } .state.degraded { color: var(--fair) } .state.down { color: var(--bad) }
.days { display: flex; gap: 2px; height: 2rem; margin: .75rem 0 .25rem }
.days i { flex: 1; border-radius: 2px; background: var(--none) }
.days .operational { background: var(--good) } .days .degraded { background: var(--fair) } .days .down { background: var(--bad) }
footer, small { display: flex; justify-content: space-between; color: var(--soft); font-size: .85rem }
`

const policy = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
}

const kindNames: Record<ModelKind, string> = {
  video: 'Video',
  transcription: 'Transcription and translation',
  speech: 'Speech',
  chat: 'Chat with audio',
}
const isKind = (kind: string): kind is ModelKind => Object.hasOwn(kindNames, kind)

const stateNames: Record<ServiceState, string> = {
  operational: 'Operational',
  degraded: 'Degraded',
  down: 'Down',
}
const titles: Record<ServiceState, string> = {
  operational: 'All systems operational',
  degraded: 'Some requests may fail or take longer',
  down: 'The service is down',
}
const nameOf = (state: string) => stateNames[state as ServiceState]

const dayMs = 86_400_000
/** Shorter disturbances do not color a day. */
const visibleSeconds = 60

type Kind = ServiceStatus['kinds'][number]
type Day = Kind['days'][number]

const minutes = (seconds: number) => `${Math.max(1, Math.round(seconds / 60))} min`

const dayText = (date: string, day: Day | undefined): { state: string; text: string } => {
  if (day === undefined || day.observed_seconds === 0) return { state: 'unknown', text: `${date}: no data` }
  const { down_seconds: down, degraded_seconds: degraded } = day
  if (down < visibleSeconds && degraded < visibleSeconds) {
    return { state: 'operational', text: `${date}: operational` }
  }
  const parts = [
    ...(down < visibleSeconds ? [] : [`down for ${minutes(down)}`]),
    ...(degraded < visibleSeconds ? [] : [`degraded for ${minutes(degraded)}`]),
  ]
  return { state: down < visibleSeconds ? 'degraded' : 'down', text: `${date}: ${parts.join(', ')}` }
}

/** Rounded down, so that a disturbance is never shown as 100 %. */
const availability = (days: Day[]): string => {
  const observed = days.reduce((sum, day) => sum + day.observed_seconds, 0)
  if (observed === 0) return 'no data yet'
  const down = days.reduce((sum, day) => sum + day.down_seconds, 0)
  return `${Math.floor((1 - down / observed) * 10_000) / 100} % available while observed`
}

const kindSection = ({ kind, state, days }: Kind, dates: string[]): string => {
  const byDate = new Map(days.map((day) => [day.date, day]))
  const bars = dates.map((date) => {
    const { state, text } = dayText(date, byDate.get(date))
    return `<i class="${state}" title="${text}"></i>`
  })
  return `<section>
<header><h2>${isKind(kind) ? kindNames[kind] : 'Other'}</h2><span class="state ${state}">${nameOf(state)}</span></header>
<div class="days" role="img" aria-label="The last ${statusDays} days: ${availability(days)}">${bars.join('')}</div>
<small><span>${statusDays} days ago</span><span>${availability(days)}</span><span>Today</span></small>
</section>`
}

export const statusPage = ({ state, kinds, updated_at: updatedAt }: ServiceStatus): string => {
  const updated = new Date(updatedAt * 1000)
  const today = updated.toISOString().slice(0, 10)
  const dates = Array.from({ length: statusDays }, (_, index) =>
    new Date(Date.parse(today) - (statusDays - 1 - index) * dayMs).toISOString().slice(0, 10),
  )
  const when = updatedAt === 0 ? 'not yet' : `${updated.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Status: ${nameOf(state)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1 class="${state}">${titles[state as ServiceState]}</h1>
${kinds.map((kind) => kindSection(kind, dates)).join('\n')}
</main>
<footer><span>Updated ${when}</span><span>Gray days were not observed.</span></footer>
</body>
</html>
`
}
