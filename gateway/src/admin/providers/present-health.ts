import type { Router } from '../../routing/route.ts'

export const presentHealth = (health: ReturnType<Router['healthOf']>) =>
  health.kind === 'healthy'
    ? { state: 'healthy', reason: null, until: null }
    : {
        state: 'unhealthy',
        reason: health.reason,
        until: Math.ceil((Date.now() + health.forMs) / 1000),
      }
