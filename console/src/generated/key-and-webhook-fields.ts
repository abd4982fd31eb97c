// Generated from the contract by `npm run generate`. Do not edit.

export const keyFields = {
  "name": {
    "maxLength": 200
  },
  "models": {
    "maxItems": 200,
    "items": {}
  },
  "addresses": {
    "maxItems": 200,
    "items": {}
  },
  "expires_at": {
    "minimum": 0,
    "maximum": 253402300799
  },
  "disabled": {},
  "quota_micros": {
    "minimum": 0,
    "maximum": 1000000000000000
  },
  "requests_per_minute": {
    "minimum": 1,
    "maximum": 1000000000
  },
  "limits": {
    "create": {
      "minimum": 1,
      "maximum": 1000000000
    },
    "read": {
      "minimum": 1,
      "maximum": 1000000000
    },
    "audio": {
      "minimum": 1,
      "maximum": 1000000000
    },
    "chat": {
      "minimum": 1,
      "maximum": 1000000000
    }
  },
  "concurrency": {
    "minimum": 1,
    "maximum": 1000000
  },
  "dialect": {
    "values": [
      "reference",
      "openai"
    ]
  },
  "scopes": {
    "minItems": 1,
    "maxItems": 3,
    "items": {
      "values": [
        "create",
        "read",
        "account"
      ]
    }
  },
  "budgets": {
    "maxItems": 4,
    "items": {
      "period": {
        "values": [
          "hour",
          "day",
          "week",
          "month"
        ]
      },
      "limit_micros": {
        "minimum": 0,
        "maximum": 1000000000000000
      },
      "currency": {}
    }
  }
} as const
export const rotateKeyFields = {
  "overlap_seconds": {
    "minimum": 0,
    "maximum": 2592000,
    "default": 0
  }
} as const
export const operatorRoles = [
  "read",
  "support",
  "finance",
  "admin"
] as const
export const webhookFields = {
  "url": {
    "maxLength": 2048
  },
  "events": {
    "minItems": 1,
    "maxItems": 100,
    "items": {
      "values": [
        "video.processing",
        "video.progress",
        "video.completed",
        "video.failed",
        "transcription_task.processing",
        "transcription_task.completed",
        "transcription_task.failed",
        "character.created",
        "character.deleted",
        "balance.low",
        "spend.threshold",
        "key.expiring",
        "model.deprecated",
        "webhook_endpoint.disabled"
      ]
    }
  },
  "name": {
    "maxLength": 200
  },
  "payload": {
    "values": [
      "full",
      "thin"
    ]
  },
  "concurrency": {
    "minimum": 1,
    "maximum": 100
  }
} as const
export const rotateSecretFields = {
  "overlap_seconds": {
    "minimum": 0,
    "maximum": 2592000,
    "default": 86400
  }
} as const
