import type { MenuAction } from '../ui/action-menu.tsx'
import type { WebhookEndpoint } from './webhook-data.ts'

export type EndpointAction = 'edit' | 'test' | 'redeliver' | 'rotate' | 'enable' | 'disable' | 'remove'

/** The name of an endpoint, or the host of its URL. */
export const nameOf = ({ name, url }: Pick<WebhookEndpoint, 'name' | 'url'>): string => {
  if (name !== '') return name
  return URL.canParse(url) ? new URL(url).host : url
}

export const listEndpointActions = (
  endpoint: WebhookEndpoint,
  texts: Record<EndpointAction, string>,
  onAction: (action: EndpointAction, endpoint: WebhookEndpoint) => void,
): MenuAction[] => {
  const isDisabled = endpoint.state === 'disabled'
  const ids: EndpointAction[] = isDisabled
    ? ['edit', 'rotate', 'enable', 'remove']
    : ['edit', 'test', 'redeliver', 'rotate', 'disable', 'remove']
  return ids.map((id) => ({
    ...{ id, label: texts[id], onAction: () => onAction(id, endpoint) },
    ...(id === 'remove' && { isDangerous: true }),
  }))
}
