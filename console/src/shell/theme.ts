import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'kinora-theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const watchers = new Set<() => void>()

const readTheme = (): Theme => {
  const stored = localStorage.getItem(storageKey)
  return themes.find((theme) => theme === stored) ?? 'system'
}

const isDark = () => readTheme() === 'dark' || (readTheme() === 'system' && system.matches)

const apply = () => {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light'
  for (const watcher of watchers) watcher()
}

export const startTheme = (): void => {
  apply()
  system.addEventListener('change', apply)
}

export const setTheme = (theme: Theme): void => {
  localStorage.setItem(storageKey, theme)
  apply()
}

export const toggleTheme = (): void => setTheme(isDark() ? 'light' : 'dark')

export const useTheme = (): Theme =>
  useSyncExternalStore((onChange) => {
    watchers.add(onChange)
    return () => watchers.delete(onChange)
  }, readTheme)
