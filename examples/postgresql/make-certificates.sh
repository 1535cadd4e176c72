#!/bin/sh
# Makes a certificate authority and a certificate for a PostgreSQL server, in the folder `certificates`.
# Usage: make-certificates.sh HOST [ADDRESS]   the names with which hubs reach the server
set -eu
host=$1
names="DNS:$host${2:+,IP:$2}"
mkdir -p certificates
cd certificates
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
  -subj "/CN=Squad certificate authority" -keyout ca.key -out ca.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$host" \
  -keyout server.key -out server.csr
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$names" >server.ext
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 \
  -extfile server.ext -out server.crt
rm server.csr server.ext
chmod 644 ca.crt server.crt
echo "Give ca.crt to every hub. Keep ca.key offline."
