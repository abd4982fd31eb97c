/** Every URL below `/console`, and the screen it shows. A screen is loaded when it is opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'

import { queryClient } from './queries.ts'
import { readNextPath } from './session/next-path.ts'
import { sessionQuery } from './session/session.ts'
import { Failure, NotFound } from './shell/failure.tsx'
import { visibleScreens } from './shell/navigation.ts'
import { Shell } from './shell/shell.tsx'

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

/** The parameters of a screen in the URL: texts only, which the screen itself reads. */
const readSearch =
  <Name extends string>(...names: Name[]) =>
  (search: Record<string, unknown>): { [Key in Name]?: string } => {
    const found: { [Key in Name]?: string } = {}
    for (const name of names) {
      const value = text(search[name])
      if (value !== undefined) found[name] = value
    }
    return found
  }

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: Failure })

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } => {
    const path = readNextPath(next)
    return path === undefined ? {} : { next: path }
  },
  component: lazyRouteComponent(() => import('./session/sign-in-page.tsx'), 'SignInPage'),
})

/** Everything behind the sign-in. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (session === null) throw redirect({ to: '/sign-in', search: { next: location.href } })
    return { session }
  },
  component: Shell,
})

const indexRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: ({ context }) => {
    throw redirect({ to: visibleScreens(context.session)[0]?.to ?? '/sessions' })
  },
})

const startRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/start',
  component: lazyRouteComponent(() => import('./start/start-page.tsx'), 'StartPage'),
})

const videoRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/playground/video',
  validateSearch: readSearch('model', 'prompt', 'remix', 'from', 'compare'),
  component: lazyRouteComponent(() => import('./playground/video/video-page.tsx'), 'VideoPage'),
})

const speechRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/playground/speech',
  component: lazyRouteComponent(() => import('./playground/speech/speech-page.tsx'), 'SpeechPage'),
})

const transcriptionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/playground/transcription',
  component: lazyRouteComponent(
    () => import('./playground/transcription/transcription-page.tsx'),
    'TranscriptionPage',
  ),
})

const chatRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/playground/chat',
  component: lazyRouteComponent(() => import('./playground/chat/chat-page.tsx'), 'ChatPage'),
})

export const tasksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/tasks',
  validateSearch: readSearch(
    'view',
    'status',
    'model',
    'q',
    'since',
    'until',
    'key',
    'account',
    'provider',
    'all',
  ),
  component: lazyRouteComponent(() => import('./tasks/tasks-page.tsx'), 'TasksPage'),
})

const taskRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/tasks/$id',
  validateSearch: readSearch('t'),
  component: lazyRouteComponent(() => import('./tasks/task/task-page.tsx'), 'TaskPage'),
})

const keysRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/keys',
  validateSearch: readSearch('id', 'new', 'account', 'all', 'q', 'state'),
  component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
})

const webhooksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/webhooks',
  validateSearch: readSearch('id', 'new', 'delivery', 'status'),
  component: lazyRouteComponent(() => import('./webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/overview',
  validateSearch: readSearch('period'),
  component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
})

const requestsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/requests',
  validateSearch: readSearch(
    ...(['id', 'view', 'q', 'status', 'code', 'operation', 'model'] as const),
    ...(['account', 'key', 'provider', 'since', 'until', 'paths'] as const),
  ),
  component: lazyRouteComponent(() => import('./requests/requests-page.tsx'), 'RequestsPage'),
})

const providersRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/providers',
  validateSearch: readSearch('name', 'new', 'edit'),
  component: lazyRouteComponent(() => import('./providers/providers-page.tsx'), 'ProvidersPage'),
})

const modelsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/models',
  validateSearch: readSearch('id', 'new'),
  component: lazyRouteComponent(() => import('./models/models-page.tsx'), 'ModelsPage'),
})

const sessionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./session/sessions-page.tsx'), 'SessionsPage'),
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    signInRoute,
    shellRoute.addChildren([
      ...[indexRoute, startRoute, videoRoute, speechRoute, transcriptionRoute, chatRoute],
      ...[tasksRoute, taskRoute, keysRoute, webhooksRoute],
      ...[overviewRoute, requestsRoute, providersRoute, modelsRoute, sessionsRoute],
    ]),
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: Failure,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
