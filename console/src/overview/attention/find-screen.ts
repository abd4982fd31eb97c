/** Where the console shows what an entry is about. */
import type { LinkProps } from '@tanstack/react-router'

import type { Attention } from '../overview-data.ts'

export interface AttentionScreen {
  kind: 'provider' | 'model' | 'key' | 'task' | 'tasks' | 'account'
  link: Pick<LinkProps, 'to' | 'search' | 'params'>
}

const taskFilters = ['status', 'provider', 'model'] as const

const findTasks = (link: string | null): AttentionScreen | undefined => {
  if (link === null || !link.startsWith('/admin/v1/tasks?')) return undefined
  const query = new URLSearchParams(link.slice(link.indexOf('?')))
  const search: Partial<Record<(typeof taskFilters)[number], string>> = {}
  for (const name of taskFilters) {
    const value = query.get(name)
    if (value !== null) search[name] = value
  }
  return { kind: 'tasks', link: { to: '/tasks', search: { all: '1', ...search } } }
}

/** Undefined if the console has no screen for it. */
export const findScreen = ({ subject, link }: Attention): AttentionScreen | undefined => {
  const tasks = findTasks(link)
  if (tasks !== undefined || subject === null) return tasks
  const { type, id } = subject
  if (type === 'provider') return { kind: type, link: { to: '/providers', search: { name: id } } }
  if (type === 'model') return { kind: type, link: { to: '/models', search: { id } } }
  if (type === 'key' || type === 'operator_key') return { kind: 'key', link: { to: '/keys', search: { id } } }
  if (type === 'account') return { kind: type, link: { to: '/keys', search: { account: id } } }
  if (type === 'task') return { kind: type, link: { to: '/tasks/$id', params: { id }, search: {} } }
  return undefined
}
