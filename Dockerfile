# An image in which every kernel is compiled already, so that a container starts at once, read-only and without a home.
FROM python:3.11-slim
ENV NUMBA_CACHE_DIR=/opt/kernels NUMBA_CPU_NAME=generic
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN python -m pip install --no-cache-dir /src && spectragram warm-up && chmod -R a+rX /opt/kernels
USER nobody
ENTRYPOINT ["spectragram"]
