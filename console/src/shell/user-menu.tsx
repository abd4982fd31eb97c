import { useNavigate } from '@tanstack/react-router'
import { Languages, LogOut, Monitor, Moon, Settings2, Sun } from 'lucide-react'
import { Header } from 'react-aria-components/Header'
import { Menu, MenuItem, MenuSection, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'

import { commonTexts } from '../i18n/common.ts'
import { language, languages, setLanguage } from '../i18n/language.ts'
import { useTexts } from '../i18n/texts.ts'
import { signOut, type Session } from '../session/session.ts'
import { Button } from '../ui/button.tsx'
import { setTheme, themes, useTheme } from './theme.ts'

import styles from './user-menu.module.css'

/** The chosen one of the values. */
const firstOf = <Value extends string>(
  keys: 'all' | Set<string | number>,
  values: readonly Value[],
): Value | undefined => values.find((value) => keys !== 'all' && keys.has(value))

const themeIcons = { system: Monitor, light: Sun, dark: Moon }

export const UserMenu = ({ session }: { session: Session }) => {
  const texts = useTexts(commonTexts)
  const theme = useTheme()
  const navigate = useNavigate()
  const { account, operator, key } = session
  const name = account?.name ?? operator?.name ?? ''
  const role = operator === null ? texts.roles.customer : texts.roles[operator.role]
  return (
    <div className={styles['user']}>
      <span className={styles['initials']} aria-hidden>
        {name.slice(0, 2).toUpperCase()}
      </span>
      <span className="grow">
        <span className={styles['name']} title={key === null ? name : `${name} · ${key.name}`}>
          {name}
        </span>
        <span className="muted small-text">{role}</span>
      </span>
      <MenuTrigger>
        <Button variant="ghost" isIcon size="small" icon={<Settings2 />} label={texts.menu} />
        <Popover className={styles['menu'] ?? ''} placement="top end">
          <Menu className={styles['list'] ?? ''} aria-label={texts.menu}>
            <MenuSection
              selectionMode="single"
              selectedKeys={[theme]}
              onSelectionChange={(keys) => setTheme(firstOf(keys, themes) ?? 'system')}
            >
              <Header className={styles['head'] ?? ''}>{texts.theme.label}</Header>
              {themes.map((each) => {
                const Icon = themeIcons[each]
                return (
                  <MenuItem key={each} id={each} className={styles['item'] ?? ''}>
                    <Icon aria-hidden />
                    {texts.theme[each]}
                  </MenuItem>
                )
              })}
            </MenuSection>
            <MenuSection
              selectionMode="single"
              selectedKeys={[language]}
              onSelectionChange={(keys) => setLanguage(firstOf(keys, ['en', 'zh'] as const) ?? 'en')}
            >
              <Header className={styles['head'] ?? ''}>{texts.language}</Header>
              {Object.entries(languages).map(([id, label]) => (
                <MenuItem key={id} id={id} className={styles['item'] ?? ''}>
                  <Languages aria-hidden />
                  {label}
                </MenuItem>
              ))}
            </MenuSection>
            <MenuItem className={styles['item'] ?? ''} onAction={() => void navigate({ to: '/sessions' })}>
              <Monitor aria-hidden />
              {texts.pages.sessions}
            </MenuItem>
            <MenuItem className={styles['item'] ?? ''} onAction={() => void signOut()}>
              <LogOut aria-hidden />
              {texts.signOut}
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
    </div>
  )
}
