/** Every screen of the console, as somebody with content in it sees it. */
import type { Person } from './open-page.ts'
import type { Seed } from './seed.ts'

export interface Screen {
  name: string
  as: Person
  /** Below `/console`. */
  path: (seed: Seed) => string
  /** Whether there is a picture of it on a phone. */
  isOnPhone?: true
}

const task = (id: string) => `/tasks/${encodeURIComponent(id)}`

export const screens: Screen[] = [
  { name: 'sign-in', as: 'nobody', path: () => '/sign-in' },
  { name: 'start', as: 'both', path: () => '/start' },
  { name: 'playground-video', as: 'customer', path: () => '/playground/video', isOnPhone: true },
  { name: 'playground-speech', as: 'customer', path: () => '/playground/speech', isOnPhone: true },
  { name: 'playground-transcription', as: 'customer', path: () => '/playground/transcription' },
  { name: 'playground-chat', as: 'customer', path: () => '/playground/chat' },
  { name: 'tasks', as: 'customer', path: () => '/tasks', isOnPhone: true },
  { name: 'task', as: 'customer', path: ({ tasks }) => task(tasks.completed[0] ?? '') },
  { name: 'task-running', as: 'customer', path: ({ tasks }) => task(tasks.running) },
  { name: 'task-failed', as: 'both', path: ({ tasks }) => task(tasks.failed) },
  { name: 'keys', as: 'customer', path: () => '/keys' },
  { name: 'webhooks', as: 'customer', path: () => '/webhooks' },
  { name: 'sessions', as: 'customer', path: () => '/sessions' },
  { name: 'overview', as: 'operator', path: () => '/overview', isOnPhone: true },
  { name: 'tasks-of-everybody', as: 'operator', path: () => '/tasks' },
  { name: 'keys-of-everybody', as: 'operator', path: () => '/keys' },
  { name: 'requests', as: 'operator', path: () => '/requests' },
  { name: 'providers', as: 'operator', path: () => '/providers' },
  { name: 'models', as: 'operator', path: () => '/models' },
]
