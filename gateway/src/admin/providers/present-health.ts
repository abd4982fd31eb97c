import type { Router } from '../../routing/route.ts'

export const presentHealth = (health: ReturnType<Router['healthOf']>) =>
  health.kind === 'well'
    ? { state: 'healthy', because: null, until: null }
    : {
        state: 'unhealthy',
        because: health.because,
        until: Math.ceil((Date.now() + health.forMs) / 1000),
      }
