apt-get install -y ffmpeg espeak-ng fonts-inter fonts-droid-fallback fonts-noto-color-emoji bubblewrap
