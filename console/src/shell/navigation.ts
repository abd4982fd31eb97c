/** The screens in the navigation, and who sees them. A screen that is not finished is not listed. */
import type { LinkProps } from '@tanstack/react-router'
import {
  Activity,
  Clapperboard,
  KeyRound,
  ListChecks,
  ListVideo,
  Server,
  SquareTerminal,
  Waypoints,
  Webhook,
  type LucideIcon,
} from 'lucide-react'

import type { texts as commonTexts } from '../i18n/common.en.ts'
import { hasRole, hasScope, type Session } from '../session/session.ts'

interface Screen {
  page: keyof typeof commonTexts.pages
  to: NonNullable<LinkProps['to']>
  icon: LucideIcon
  isVisible: (session: Session) => boolean
  /** Pressed after `g`. */
  shortcut: string
  /** One of the four in the bar at the bottom of phones. */
  isOnPhone?: true
}

const forCustomers = (session: Session) => hasScope(session, 'read')
const forAccounts = (session: Session) => hasScope(session, 'account')
const forOperators = (session: Session) => hasRole(session, 'read', 'support', 'finance')

export const navigation: { group: keyof typeof commonTexts.groups; screens: Screen[] }[] = [
  {
    group: 'create',
    screens: [
      {
        ...{
          page: 'playground',
          to: '/playground/video',
          icon: Clapperboard,
          shortcut: 'p',
          isOnPhone: true,
        },
        isVisible: (session) => hasScope(session, 'create') && hasScope(session, 'read'),
      },
    ],
  },
  {
    group: 'work',
    screens: [
      {
        ...{ page: 'tasks', to: '/tasks', icon: ListVideo, shortcut: 't', isOnPhone: true },
        isVisible: (session) => forCustomers(session) || forOperators(session),
      },
    ],
  },
  {
    group: 'observe',
    screens: [
      {
        page: 'overview',
        to: '/overview',
        icon: Activity,
        shortcut: 'o',
        isOnPhone: true,
        isVisible: forOperators,
      },
      { page: 'requests', to: '/requests', icon: SquareTerminal, shortcut: 'r', isVisible: forOperators },
    ],
  },
  {
    group: 'access',
    screens: [
      {
        ...{ page: 'keys', to: '/keys', icon: KeyRound, shortcut: 'k', isOnPhone: true },
        isVisible: (session) => forAccounts(session) || forOperators(session),
      },
      { page: 'webhooks', to: '/webhooks', icon: Webhook, shortcut: 'w', isVisible: forAccounts },
    ],
  },
  {
    group: 'upstreams',
    screens: [
      { page: 'providers', to: '/providers', icon: Server, shortcut: 'u', isVisible: forOperators },
      { page: 'models', to: '/models', icon: Waypoints, shortcut: 'm', isVisible: forOperators },
    ],
  },
  {
    group: 'learn',
    screens: [
      { page: 'start', to: '/start', icon: ListChecks, shortcut: 's', isVisible: ({ key }) => key !== null },
    ],
  },
]

export const visibleScreens = (session: Session): Screen[] =>
  navigation.flatMap(({ screens }) => screens.filter(({ isVisible }) => isVisible(session)))
